"""Which layer is which."""

from __future__ import annotations

from comparison_networks import layer_result

from edgewatt.comparison.match import match_layers


def test_names_match_wherever_they_stand() -> None:
    found = match_layers([layer_result("a"), layer_result("b")], [layer_result("b"), layer_result("a")])
    assert (found.pairs, found.shared) == (((0, 1), (1, 0)), 1.0)


def test_renamed_layers_match_by_order_and_shape() -> None:
    first = [layer_result("a", channels=4), layer_result("x", channels=8), layer_result("y", channels=16)]
    second = [layer_result("a", channels=4), layer_result("p", channels=8), layer_result("q", channels=16)]
    assert match_layers(first, second).pairs == ((0, 0), (1, 1), (2, 2))


def test_a_layer_of_another_shape_is_new() -> None:
    found = match_layers(
        [layer_result("a"), layer_result("x", channels=8)],
        [layer_result("a"), layer_result("new", channels=32), layer_result("y", channels=8)],
    )
    assert found.pairs == ((0, 0), (1, 2))
    assert (found.only_first, found.only_second) == ((), (1,))
    assert found.shared == 4 / 5


def test_without_shapes_only_as_many_of_a_kind_match() -> None:
    bare = [layer_result("x", shape=False), layer_result("y", shape=False)]
    assert match_layers(bare, [layer_result("p", shape=False), layer_result("q", shape=False)]).shared == 1.0
    assert match_layers(bare, [layer_result("p", shape=False)]).shared == 0.0


def test_nothing_matches_nothing() -> None:
    assert match_layers([], []).shared == 0.0

"""Comparisons of two results."""

from __future__ import annotations

import json

import pytest
from comparison_networks import layer_result, network_result
from rich.console import Console

from edgewatt.comparison.compare import compare_results
from edgewatt.errors import EdgewattError
from edgewatt.reports.compare import comparison_json, comparison_lines, comparison_table
from edgewatt.results.network_result import Source


def test_the_layer_that_changed_is_found_and_no_other() -> None:
    before = network_result(*[layer_result(f"l{i}", 1.0) for i in range(10)])
    after = network_result(*[layer_result(f"l{i}", 1.5 if i == 3 else 1.0) for i in range(10)])
    found = compare_results(before, after)
    assert [layer.name for layer in found.layers if layer.beyond_noise] == ["l3"]
    # Each layer takes 1 mJ above idle and 4 W for 0.1 ms.
    assert found.energy_j.before is not None
    assert found.energy_j.before.value == pytest.approx(14e-3)
    assert found.energy_j.relative == pytest.approx(0.5 / 14)
    assert found.runtime_s.relative == pytest.approx(0.0)
    assert (found.with_idle, found.totals_of) == (True, "sums of layers")


def test_layers_that_are_new_and_gone() -> None:
    found = compare_results(
        network_result(layer_result("a"), layer_result("gone", channels=3)),
        network_result(layer_result("new", channels=5), layer_result("a")),
    )
    assert [(layer.before is None, layer.after is None, layer.name) for layer in found.layers] == [
        (True, False, "new"),
        (False, False, "a"),
        (False, True, "gone"),
    ]
    assert any("1 layer is new and 1 gone" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("board", "agx-orin"),
        ("power_mode", "25W"),
        ("precision", "int8"),
        ("method", "deconvolve"),
        ("clocks", "locked"),
    ],
)
def test_other_environments_are_refused_unless_forced(name: str, value: str) -> None:
    here = {"power_mode": "15W", "clocks": "not locked"}
    before, after = (
        network_result(layer_result("a"), **here),
        network_result(layer_result("a"), **{**here, name: value}),
    )
    with pytest.raises(EdgewattError, match="different") as raised:
        compare_results(before, after)
    assert raised.value.exit_status == 2
    assert value in str(raised.value)
    assert any(value in doubt for doubt in compare_results(before, after, force=True).doubts)


def test_what_is_not_known_of_one_is_no_difference() -> None:
    assert compare_results(network_result(layer_result("a")), network_result(layer_result("a"), power_mode="15W"))


def test_another_network_is_refused() -> None:
    before = network_result(*[layer_result(f"a{i}", channels=2 + i) for i in range(3)])
    after = network_result(*[layer_result(f"b{i}", channels=20 + i) for i in range(3)])
    with pytest.raises(EdgewattError, match="share 0% of their layers"):
        compare_results(before, after)


def test_a_prediction_beside_a_measurement_is_told() -> None:
    predicted = network_result(layer_result("a"), source=Source.PREDICTION, method="predictors")
    found = compare_results(network_result(layer_result("a")), predicted)
    assert "one was measured and the other predicted" in found.doubts


def test_table_fits_eighty_columns_and_says_what_changed() -> None:
    before = network_result(*[layer_result(f"/features/features.{i}/Conv + /features/Relu", 1.0) for i in range(4)])
    after = network_result(*[layer_result(f"/features/features.{i}/Conv + /features/Relu", 1.0 + i) for i in range(4)])
    found = compare_results(before, after)
    console = Console(width=80, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(comparison_table(found))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    body = [line for line in lines if "Conv" in line]
    # 4.4 mJ after 1.4 mJ comes first.
    assert "+214.3%*" in body[0]
    assert body[-1].split()[0].endswith("features.0/Conv") or "0/Conv" in body[-1]
    assert "3 of 4 layers changed beyond the noise" in [str(line) for line in comparison_lines(found)]


def test_json_holds_values_intervals_and_verdicts() -> None:
    found = compare_results(network_result(layer_result("a", 1.0)), network_result(layer_result("a", 2.0)))
    value = json.loads(json.dumps(comparison_json(found)))
    energy = value["layers"][0]["energy_mj"]
    assert energy["before"]["value"] == pytest.approx(1.4)
    assert energy["after"]["interval"] == pytest.approx([2.4 * 0.99, 2.4 * 1.01])
    assert energy["difference"] == pytest.approx(1.0)
    assert energy["beyond_noise"] is True
    assert value["totals_of"] == "sums of layers"

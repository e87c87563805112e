from __future__ import annotations

import pytest

from edgewatt.wording import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 layers are"), (1, "1 layer is"), (2, "2 layers are"), (2048, "2,048 layers are")]
)
def test_numbers_and_what_they_count_agree(number: int, text: str) -> None:
    assert counted(number, "layer", ("is", "are")) == text
    assert counted(number, "layer") == text.rpartition(" ")[0]

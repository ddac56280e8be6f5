"""Pictures of scaling have a mark for each prediction, where its value is, and what was published beside."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from polytile.distribution.links import H200_NDR
from polytile.distribution.scaling import strong_scaling, weak_scaling
from polytile.distribution.scaling_figures import BOX_27, PUBLISHED, STAR_7
from polytile.drawing.scaling import picture_of, to_svg
from polytile.drawing.scaling.model import Curve, ScalingPicture
from polytile.drawing.scaling.picture import HEIGHT, WIDTH
from polytile.drawing.svg import document

SVG = "{http://www.w3.org/2000/svg}"
RANKS = (1, 2, 8, 64)
PICTURE = picture_of([(STAR_7, 1), (BOX_27, 2)], H200_NDR, (512,) * 3, (64,) * 3, RANKS)


def root(picture: ScalingPicture) -> ElementTree.Element:
    return ElementTree.fromstring(document([to_svg(picture)]))


def test_curves_are_the_predictions() -> None:
    assert [curve.label for curve in PICTURE.weak] == [
        f"{name}, {size}^3 a rank" for size in (512, 64) for name in ("7 points, T = 1", "27 points, T = 2")
    ]
    for ranks, share in PICTURE.weak[1].points:
        assert share == weak_scaling(BOX_27, H200_NDR, (512,) * 3, ranks, 2).efficiency
    for ranks, times in PICTURE.strong[0].points:
        assert times == ranks * strong_scaling(STAR_7, H200_NDR, (512,) * 3, ranks, 1).efficiency
    assert [(b.low, b.high) for b in PICTURE.beside] == [(p.low, p.high) for p in PUBLISHED]


def test_parts_thinner_than_halos_have_no_mark() -> None:
    picture = picture_of([(STAR_7, 4)], H200_NDR, (16, 16, 16), (16, 16, 16), (1, 8, 4096))
    assert [ranks for ranks, _ in picture.strong[0].points] == [1, 8]
    assert [ranks for ranks, _ in picture.weak[0].points] == [1, 8, 4096]


def test_a_mark_for_each_prediction_at_its_value() -> None:
    weak = Curve("weak", ((1, 1.0), (4, 0.75), (16, 0.5)), 0)
    strong = Curve("strong", ((1, 1.0), (4, 2.0), (16, 4.0)), 1)
    svg = root(ScalingPicture("title", ("facts",), (weak,), (strong,), (), "", ""))
    marks = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in svg.findall(f"{SVG}circle")]
    (x, y), *_ = marks
    for (a, b), (right, down) in zip(marks[:3], ((0, 0), (0.5, 0.25 / 0.6), (1, 0.5 / 0.6)), strict=True):
        assert (a - x, b - y) == pytest.approx((right * WIDTH, down * HEIGHT), abs=0.02)
    (left, bottom), *others = marks[3:6]
    for (a, b), (right, up) in zip(others, ((0.5, 0.25), (1, 0.5)), strict=True):
        assert (a - left, bottom - b) == pytest.approx((right * WIDTH, up * HEIGHT), abs=0.02)
    assert len(marks) == 3 + 3 + 1  # the last one in the legend


def test_words_name_curves_axes_and_published_figures() -> None:
    svg = root(PICTURE)
    words = [element.text for element in svg.iter(f"{SVG}text")]
    assert {curve.label for curve in PICTURE.weak} <= {*words} and words.count("ranks") == 2
    assert {"ideal", "77-80%", "50%", "90%", "order 1", "order 2", "27 points", PICTURE.published} <= {*words}
    assert document([to_svg(PICTURE)]) == document([to_svg(PICTURE)])
    wide, high = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert all(0 <= float(e.attrib["x"]) < wide and 0 <= float(e.attrib["y"]) < high for e in svg.iter(f"{SVG}text"))

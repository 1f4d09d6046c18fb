"""What a promise for answers costs: how often the crowd is wrong at every strength, as a chart and as a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sottovoce.planning.choice_errors import predicted_wrong
from sottovoce.planning.choices import AnswerQuality
from sottovoce.privacy.laws import Response
from sottovoce.server.console.charts import percent

_LOW, _HIGH, _POINTS = 0.1, 10.0, 61
_MARKED = (0.1, 0.3, 1.0, 3.0, 10.0)
_LISTED = (0.5, 1.0, 2.0, 3.0)
_HEIGHT, _FOOT = 200, 24  # pixels
_SIDE = 3.0  # per cent of the width left free on both sides
_STYLES = ("line-1", "line-3", "line-0")


@dataclass(frozen=True)
class Strengths:
    """Questions with these numbers of choices, answered by this many people each; ``epsilon`` is the strength."""

    counts: Sequence[int]
    answers: int
    epsilon: float

    @property
    def listed(self) -> list[tuple[float, list[str]]]:
        """Common strengths and the current one, with the share of wrong results for each number of choices."""
        return [
            (epsilon, [percent(self._wrong(epsilon, count)) for count in self.counts])
            for epsilon in sorted({*_LISTED, self.epsilon})
        ]

    def chart(self) -> Markup:
        """These shares for all strengths. Horizontal positions are in per cent of the width, to fit every screen."""
        lines = [[self._wrong(epsilon, count) for epsilon in _epsilons()] for count in self.counts]
        step = 0.1 if max(map(max, lines)) <= 0.5 else 0.25
        top = step * max(1, math.ceil(max(map(max, lines)) / step))
        drawn = Markup("")
        for number in range(round(top / step) + 1):
            y = _HEIGHT * (1 - number * step / top)
            drawn += Markup('<line class="grid" x2="100%" y1="{y}" y2="{y}"/>').format(y=round(y, 1))
            if number:
                drawn += Markup('<text class="share" x="100%" y="{}">{}</text>').format(
                    round(y + 15, 1), f"{100 * number * step:.0f}%"
                )
        for epsilon in _MARKED:
            drawn += Markup('<text x="{}" y="{}">{}</text>').format(_place(epsilon), _HEIGHT + 18, f"{epsilon:g}")
        now = min(max(self.epsilon, _LOW), _HIGH)
        drawn += Markup('<line class="now" x1="{x}" x2="{x}" y2="{bottom}"/>').format(x=_place(now), bottom=_HEIGHT)
        for style, count, line in zip(_STYLES, self.counts, lines, strict=False):
            points = " ".join(
                f"{100 * number / (_POINTS - 1):.2f},{100 * (1 - share / top):.2f}" for number, share in enumerate(line)
            )
            drawn += Markup(
                '<svg x="{side}%" width="{width}%" height="{height}" viewBox="0 0 100 100" preserveAspectRatio="none" '
                'overflow="visible"><polyline class="curve {style}" points="{points}"/></svg>'
                '<circle class="{style}" cx="{x}" cy="{y}" r="5"/>'
            ).format(
                side=_SIDE, width=100 - 2 * _SIDE, height=_HEIGHT, style=style, points=points, x=_place(now),
                y=round(_HEIGHT * (1 - self._wrong(now, count) / top), 1),
            )  # fmt: skip
        title = "Share of questions that the crowd is expected to get wrong, by the strength of each answer (ε)"
        return Markup(
            '<svg class="strengths-chart" role="img" width="100%" height="{height}"><title>{title}</title>{drawn}</svg>'
        ).format(height=_HEIGHT + _FOOT, title=title, drawn=drawn)

    @property
    def assumed(self) -> str:
        """How often participants are right before any noise."""
        return ", ".join(
            f"{percent(AnswerQuality.of(count, None).mean)} of the time with {count} choices" for count in self.counts
        )

    @property
    def legend(self) -> list[tuple[str, int]]:
        return list(zip(_STYLES, self.counts, strict=False))

    def _wrong(self, epsilon: float, count: int) -> float:
        return predicted_wrong(Response(epsilon), count, self.answers)


def _epsilons() -> list[float]:
    return [_LOW * (_HIGH / _LOW) ** (number / (_POINTS - 1)) for number in range(_POINTS)]


def _place(epsilon: float) -> str:
    share = math.log(epsilon / _LOW) / math.log(_HIGH / _LOW)
    return f"{_SIDE + (100 - 2 * _SIDE) * share:.2f}%"

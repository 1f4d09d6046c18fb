"""One audit from beginning to end: the promise, the draws for both inputs, and what they show."""

from typing import TYPE_CHECKING, Any

from sottovoce.errors import BadParameter
from sottovoce.privacy.audit.inputs import FEWEST_DRAWS, Neighbours, SampledOutputs, Sampler
from sottovoce.privacy.audit.numbers import NumberSetting
from sottovoce.privacy.audit.result import Audit
from sottovoce.privacy.laws import Law
from sottovoce.privacy.parameters import check_one_of
from sottovoce.progress import Progress

if TYPE_CHECKING:
    from sottovoce.privacy.answers import AnswerGuarantee
    from sottovoce.privacy.guarantee import Guarantee


def audit(
    sampler: Sampler,
    law: Law,
    setting: Neighbours[Any] | None = None,
    *,
    samples: int = 20_000,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Progress[int, int] | None = None,
) -> Audit:
    """Audit any sampler: a callable from a list of readings to a list of outputs, in whole grid steps for numbers.

    ``setting`` defines the two inputs: a `NumberSetting`, which is the default, or an `AnswerSetting`, where readings
    are cells and an output is the list of reported cells. Results are compared with the promise at ``delta``, or at
    ``epsilon``. By default δ is 0 if the law has a pure ε, and otherwise half of δ(0), where few draws show much.
    ``progress`` gets the number of draws done and the total.
    """
    inputs: Neighbours[Any] = setting or NumberSetting()
    promise = _promise(inputs.guarantee(law), epsilon, delta)  # a mistake is reported before the long work
    if samples < FEWEST_DRAWS:
        raise BadParameter(f"samples {samples!r}: at least {FEWEST_DRAWS:,} are needed; write 20000, for example")
    return _audit(inputs.draw(sampler, samples, progress), law, inputs, promise)


def audit_draws(
    draws: SampledOutputs,
    law: Law,
    setting: Neighbours[Any],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Audit:
    """Audit draws made elsewhere, for the inputs of ``setting``."""
    if draws.readings != setting.readings:
        raise BadParameter(
            f"readings {setting.readings}: the draws have {draws.readings} per release, and both must be the "
            "same; correct one of them"
        )
    return _audit(draws, law, setting, _promise(setting.guarantee(law), epsilon, delta))


def _promise(
    guarantee: "Guarantee | AnswerGuarantee", epsilon: float | None, delta: float | None
) -> tuple[float, float]:
    """The promised ε and δ that an audit compares with, from one of them or from neither."""
    check_one_of(epsilon, delta)
    if epsilon is not None:
        return epsilon, guarantee.delta(epsilon)
    if delta is None:
        delta = 0.0 if guarantee.pure_epsilon is not None else float(f"{guarantee.delta(0.0) / 2:.2g}")
    return guarantee.epsilon(delta), delta


def _audit(draws: SampledOutputs, law: Law, setting: Neighbours[Any], promise: tuple[float, float]) -> Audit:
    epsilon, delta = promise
    shown = setting.evidence(draws, law, delta)
    return Audit(
        law=law,
        setting=setting,
        samples=min(map(len, draws.sides)),
        delta=delta,
        promised_epsilon=epsilon,
        found_epsilon=max(0.0, shown.epsilon),
        event=shown.event,
        checks=shown.checks,
    )

"""Does a sampler keep its law's promise? Draw many releases for two neighbouring inputs and try to tell them apart.

On half of the draws the audit looks for the event that distinguishes the inputs best; on the other half, which had no
part in that choice, it bounds the two probabilities of this event (Clopper and Pearson), and so ε from below. A bound
above the promise is a leak. More sensitive checks compare what is drawn with the law's own probabilities.

An audit can find a leak; it can never prove that there is none. Leaks that need more draws, other inputs or events
that nobody thought of go undetected, and so does anything outside the numbers, such as the time a draw takes.
"""

from sottovoce.privacy.audit.answers import AnswerDraws, AnswerSetting
from sottovoce.privacy.audit.auditing import audit, audit_draws
from sottovoce.privacy.audit.numbers import NumberDraws, NumberSetting
from sottovoce.privacy.audit.result import CONFIDENCE, Audit

__all__ = [
    "CONFIDENCE",
    "AnswerDraws",
    "AnswerSetting",
    "Audit",
    "NumberDraws",
    "NumberSetting",
    "audit",
    "audit_draws",
]

"""What server and device share: manifest, report, invitation link, problems; docs/reference/protocol.md."""

from sottovoce.protocol.links import InvitationLink
from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask, Task
from sottovoce.protocol.problems import CATALOGUE, Problem
from sottovoce.protocol.promise import Promise, promise_of
from sottovoce.protocol.report import Reading, Report

__all__ = [
    "CATALOGUE",
    "ChoiceTask",
    "InvitationLink",
    "Manifest",
    "NumberTask",
    "Problem",
    "Promise",
    "Reading",
    "Report",
    "Task",
    "promise_of",
]

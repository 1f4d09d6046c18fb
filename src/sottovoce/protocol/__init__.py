"""What server and device share: manifest, report, invitation link, problems; docs/reference/protocol.md."""

from sottovoce.protocol.links import InvitationLink
from sottovoce.protocol.manifest import Manifest, Task
from sottovoce.protocol.problems import CATALOGUE, Problem
from sottovoce.protocol.promise import Promise, promise_of
from sottovoce.protocol.report import Reading, Report

__all__ = ["CATALOGUE", "InvitationLink", "Manifest", "Problem", "Promise", "Reading", "Report", "Task", "promise_of"]

"""The participant's side: limits, ledger, outbox and sender. NumPy is loaded only to judge a law with exceptions."""

from sottovoce.device.client import Client
from sottovoce.device.joining import join
from sottovoce.device.participant_limits import Limits
from sottovoce.device.release import release
from sottovoce.device.sender import SendOutcome, flush, withdraw
from sottovoce.device.store import Membership, ParticipantFile, Release
from sottovoce.protocol.http import RetryPolicy, TryLater

__all__ = [
    "Client",
    "Limits",
    "Membership",
    "ParticipantFile",
    "Release",
    "RetryPolicy",
    "SendOutcome",
    "TryLater",
    "flush",
    "join",
    "release",
    "withdraw",
]

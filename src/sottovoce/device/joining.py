"""Joining a campaign: fetch the manifest, check it, ask the participant, record their consent, then enrol."""

from collections.abc import Callable

from sottovoce.device.client import Client
from sottovoce.device.quotas import refuse_if_full
from sottovoce.device.release import drawn_order
from sottovoce.device.sanity import check_promise
from sottovoce.device.store import Membership, ParticipantFile
from sottovoce.privacy.sampler import ByteStream
from sottovoce.protocol import InvitationLink, Manifest, Problem, Promise
from sottovoce.protocol.canonical import sha256_of
from sottovoce.protocol.tokens import new_token


def join(
    file: ParticipantFile,
    link: InvitationLink,
    client: Client,
    *,
    agree: Callable[[Manifest, Promise], bool],
    trust_server: bool = False,
) -> Membership:
    """Check the campaign of a link against the participant's limits, ask them, and enrol.

    Consent and the enrolment's secrets are stored on disk before the request to enrol is sent. Whatever happens then,
    the same enrolment can be repeated: by joining again with the same link, or by the sender before the first report.
    """
    if before := _joined_by(file, link):
        return enrol(file, before, client)
    try:
        manifest = _offered(link, client, trust_server)
    except Problem:
        if before := _joined_by(file, link):  # another process of the same participant has spent the invitation
            return enrol(file, before, client)
        raise
    joined = file.membership(manifest.campaign)
    if joined and joined.manifest.sha256 == manifest.sha256:
        promise = joined.promise
        check_promise(manifest, promise)
    else:
        refuse_if_full(manifest, client)
        limits = file.limits
        promise = limits.judge(manifest)
        limits.check_total(file.spent(), promise)
        if not agree(manifest, promise):
            raise Problem("no_consent", f"campaign {manifest.campaign!r}: you did not agree to it")
    trusted = link.manifest_sha256 is None
    order = drawn_order(manifest, ByteStream()) if manifest.device_draws else None
    return enrol(file, file.consent(link.server, manifest, promise, link.token, new_token(), trusted, order), client)


def _joined_by(file: ParticipantFile, link: InvitationLink) -> Membership | None:
    """The membership that this link led to before, enrolled or not."""
    for membership in file.memberships():
        if membership.invitation == link.token and link.manifest_sha256 in (None, membership.manifest.sha256):
            return membership
    return None


def _offered(link: InvitationLink, client: Client, trust_server: bool) -> Manifest:
    """The manifest that a link leads to; a manifest with another hash is refused.

    If the link has no hash, the server could offer anything, and something else to each participant. Such a link is
    refused unless the participant has chosen to trust the server.
    """
    if link.manifest_sha256 is None and not trust_server:
        raise Problem("link_without_hash", "the link: it carries no hash, so the server could offer anything")
    campaign = client.look_up(link.token)
    data = client.manifest(campaign)
    if link.manifest_sha256 is not None and sha256_of(data) != link.manifest_sha256:
        raise Problem(
            "manifest_mismatch",
            f"manifest {sha256_of(data)[:12]}…: it must be {link.manifest_sha256[:12]}…, as in the link",
        )
    try:
        manifest = Manifest.parse(data)
    except Problem as mistake:
        raise Problem(
            mistake.code, mistake.detail, fix="tell the operator, or use a newer version of sottovoce"
        ) from None
    manifest.check_comparisons()
    if manifest.campaign != campaign:
        raise Problem("bad_answer", f"campaign {campaign!r}: its manifest belongs to campaign {manifest.campaign!r}")
    return manifest


def enrol(file: ParticipantFile, membership: Membership, client: Client) -> Membership:
    """Get the participant's token, unless it is stored already. Whoever has withdrawn is refused."""
    if membership.withdrawn_at:
        raise Problem("withdrawn", f"campaign {membership.campaign!r}: you withdrew on {membership.withdrawn_at}")
    if membership.participant_token is not None:
        return membership
    assert membership.enrolment_key is not None
    campaign, token = client.enrol(membership.invitation, membership.enrolment_key)
    if campaign != membership.campaign:
        raise Problem("bad_answer", f"campaign {membership.campaign!r}: the server enrolled you in another campaign")
    file.enrolled(membership.campaign, token)
    enrolled = file.membership(membership.campaign)
    assert enrolled is not None
    return enrolled

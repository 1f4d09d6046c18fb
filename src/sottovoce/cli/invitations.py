"""``sottovoce campaign invite``, ``invitations``, ``revoke`` and ``renew``: who can join."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, InvitationArgument, connected
from sottovoce.cli.output import console, notes, plain_table, print_done, print_json
from sottovoce.digits import counted
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def invite(
    client: "OperatorClient",
    campaign: CampaignArgument,
    count: Annotated[int, typer.Option(min=1, help="How many invitations.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="New CSV file for the invitations (number, link, and code if there is one); without it, they are "
            "printed."
        ),
    ] = None,
    qr: Annotated[Path | None, typer.Option(help="New folder for the QR codes of the links, as SVG.")] = None,
    code: Annotated[
        bool,
        typer.Option(
            "--code",
            help="Short codes to type instead of links; they expire, and, unlike links, do not contain the SHA-256 of "
            "the campaign's manifest.",
        ),
    ] = False,
    people: Annotated[
        int | None,
        typer.Option("--open", min=1, metavar="PEOPLE", help="One open link with which this many people can join."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1, help="Days for which codes (14 by default) or an open link (no limit by default) can be used."
        ),
    ] = None,
    json: bool = False,
) -> None:
    """Create invitations: by default links, each for one participant. The server cannot show them again."""
    from sottovoce.operators.links import check_free, qr_maker, write_links, write_qr_codes
    from sottovoce.protocol.links import why_out_of_reach

    if code and people:
        raise BadParameter(
            "--code and --open: an invitation is either a code or an open link; give only one of the two"
        )
    if days and not (code or people):
        raise BadParameter(f"--days {days}: links for one person do not expire; leave it out, or give --code or --open")
    for path in filter(None, (out, qr)):
        check_free(path)
    if qr:
        qr_maker()
    kind = {"kind": "code"} if code else {"kind": "open", "people": people} if people else {}
    made = client.invite(campaign, 1 if people else count, **kind, **({"days": days} if days else {}))
    if out:
        write_links(made, out)
    if qr:
        write_qr_codes(made, qr)
    if json:
        named = {"id": "number", "url": "link", "code": "code"}
        listed = [{to: one[name] for name, to in named.items() if one.get(name)} for one in made]
        links = {} if out else {"invitations": listed}
        print_json({"campaign": campaign, "count": len(made), "out": out and str(out), "qr": qr and str(qr), **links})
        return
    if not out:
        for one in made:
            console.print(one.get("code") or one["url"], highlight=False, soft_wrap=True)
    address = made[0]["url"].partition("/j/")[0]
    if (trouble := why_out_of_reach(address)) is not None:
        notes.print(f"[yellow]Note:[/] invitations lead to {address}: {trouble}.", highlight=False, soft_wrap=True)
    what = "code" if code else "link"
    admits = f"It lets {counted(people, 'person', 'people')} in" if people else "Each lets one person in"
    keys, them = ("treat it like a key", "it") if len(made) == 1 else ("treat them like keys", "them")
    if len(made) == 1 and not people:
        admits = "It lets one person in"
    where = f" People type {them} at {address}/j/." if code else ""
    notes.print(
        counted(len(made), what)
        + (f" in {out}" if out else "")
        + (f", QR code{'s' * (len(made) != 1)} in {qr}" if qr else "")
        + f". {admits}; {keys}.{where}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


@connected
def invitations(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """List the invitations of a campaign: used, not used yet, revoked or expired. Who used one is not recorded."""
    entries = client.invitations(campaign)
    if json:
        print_json({"invitations": entries})
        return
    table = plain_table("number", "kind", "state", "joined", "made", "valid until")
    for entry in entries:
        joined = f"{entry['joined']:,} of {entry['people']:,}"
        made, until = entry["created_at"], entry["expires_at"] or "–"
        state = {"unspent": "not used yet", "spent": "used"}.get(entry["state"], entry["state"])
        table.add_row(str(entry["id"]), entry["kind"], state, joined, made, until)
    console.print(table if entries else "Nobody has been invited yet.")


@connected
def revoke(
    client: "OperatorClient", campaign: CampaignArgument, number: InvitationArgument, json: bool = False
) -> None:
    """Revoke an invitation that is not used up: nobody else can join with it."""
    client.revoke_invitation(campaign, number)
    print_done(json, {"revoked": number}, f"Invitation {number} is revoked.")


@connected
def renew(client: "OperatorClient", campaign: CampaignArgument, number: InvitationArgument, json: bool = False) -> None:
    """Replace a one-person link that was lost before it was used; the old link stops working."""
    made = client.renew_invitation(campaign, number)
    print_done(json, {"number": made["id"], "link": made["url"]}, made["url"])

"""``sottovoce campaign invite``, ``invitations``, ``revoke`` and ``renew``: who is let in."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, NumberArgument, connected
from sottovoce.cli.output import console, notes, plain_table, print_done, print_json

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def invite(
    client: "OperatorClient",
    campaign: CampaignArgument,
    count: Annotated[int, typer.Option(min=1, help="How many invitations.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="New CSV file for the links (number, link); they are printed without it.")
    ] = None,
    qr: Annotated[Path | None, typer.Option(help="New folder for the QR codes of the links, as SVG.")] = None,
    json: bool = False,
) -> None:
    """Create invitations: links, each for one participant. The server cannot show them again."""
    from sottovoce.operators.links import check_free, qr_maker, write_links, write_qr_codes

    for path in filter(None, (out, qr)):
        check_free(path)
    if qr:
        qr_maker()
    made = client.invite(campaign, count)
    if out:
        write_links(made, out)
    if qr:
        write_qr_codes(made, qr)
    if json:
        links = {} if out else {"invitations": [{"number": one["id"], "link": one["url"]} for one in made]}
        print_json({"campaign": campaign, "count": len(made), "out": out and str(out), "qr": qr and str(qr), **links})
        return
    if not out:
        for one in made:
            console.print(one["url"], highlight=False, soft_wrap=True)
    notes.print(
        f"{len(made)} {'link' if len(made) == 1 else 'links'}"
        + (f" in {out}" if out else "")
        + (f", QR codes in {qr}" if qr else "")
        + ". Each lets one person in; treat them like keys.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


@connected
def invitations(client: "OperatorClient", campaign: CampaignArgument, json: bool = False) -> None:
    """List the invitations of a campaign: unspent, spent or revoked. Who used one is not recorded."""
    entries = client.invitations(campaign)
    if json:
        print_json({"invitations": entries})
        return
    table = plain_table("number", "state", "made")
    for entry in entries:
        table.add_row(str(entry["id"]), entry["state"], entry["created_at"])
    console.print(table if entries else "Nobody has been invited yet.")


@connected
def revoke(client: "OperatorClient", campaign: CampaignArgument, number: NumberArgument, json: bool = False) -> None:
    """Revoke an invitation that nobody has used."""
    client.revoke_invitation(campaign, number)
    print_done(json, {"revoked": number}, f"Invitation {number} is revoked.")


@connected
def renew(client: "OperatorClient", campaign: CampaignArgument, number: NumberArgument, json: bool = False) -> None:
    """Replace an invitation that was lost; the old link stops working."""
    made = client.renew_invitation(campaign, number)
    print_done(json, {"number": made["id"], "link": made["url"]}, made["url"])

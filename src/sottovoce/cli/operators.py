"""``sottovoce campaign operators``: who may run campaigns on a server."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.command_line import CommandLine
from sottovoce.cli.connection import OperatorArgument, connected
from sottovoce.cli.output import console, plain_table, print_done, print_json

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient

app = CommandLine(help="Manage who may run campaigns on a server; for administrators.")


@app.command("add")
@connected
def add_operator(
    client: "OperatorClient",
    name: Annotated[
        str,
        typer.Argument(
            help="Name of the operator; participants see it as who is asking, unless a campaign names somebody else."
        ),
    ],
    administrator: Annotated[
        bool, typer.Option("--administrator", help="Let the new operator add and revoke operators, too.")
    ] = False,
    json: bool = False,
) -> None:
    """Add an operator. Their token is shown only once."""
    made = client.add_operator(name, administrator)
    print_done(json, made, f"Operator {made['id']}, {made['name']}. The token, shown only once: {made['token']}")


@app.command("list")
@connected
def list_operators(client: "OperatorClient", json: bool = False) -> None:
    """List all operators, including revoked ones."""
    entries = client.operators()
    if json:
        print_json({"operators": entries})
        return
    table = plain_table("number", "name", "rights", "added", "revoked")
    for entry in entries:
        rights = "administrator" if entry["administrator"] else "own campaigns"
        table.add_row(str(entry["id"]), escape(entry["name"]), rights, entry["created_at"], entry["revoked_at"] or "no")
    console.print(table)


@app.command("rename")
@connected
def rename_operator(
    client: "OperatorClient",
    number: OperatorArgument,
    name: Annotated[str, typer.Argument(help="The new name.")],
    json: bool = False,
) -> None:
    """Rename an operator: yourself, or, as an administrator, anybody. Existing campaigns keep the old name."""
    named = client.rename_operator(number, name)
    print_done(json, named, f"Operator {number} is now called {named['name']}.")


@app.command("revoke")
@connected
def revoke_operator(client: "OperatorClient", number: OperatorArgument, json: bool = False) -> None:
    """Revoke an operator's token. Their campaigns continue."""
    client.revoke_operator(number)
    print_done(json, {"revoked": number}, f"The token of operator {number} is revoked.")


@app.command("renew")
@connected
def renew_operator(client: "OperatorClient", number: OperatorArgument, json: bool = False) -> None:
    """Replace an operator's token; the old one stops working, and the new one is shown only once."""
    made = client.renew_operator(number)
    print_done(json, made, f"The new token of operator {number}, shown only once: {made['token']}")

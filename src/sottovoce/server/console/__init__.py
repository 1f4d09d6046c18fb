"""The console: an operator's workplace in the browser, and the pages that show results to everybody."""

from sottovoce.server.console import (
    analyst,
    campaign,
    check,
    drafts,
    files,
    gold,
    health,
    invitations,
    operators,
    overview,
    plans,
    public,
    sharing,
    sign_in,
    texts,
)

# Drafts come before campaigns, of which "new" would be one.
_PARTS = (
    files, sign_in, overview, drafts, check, campaign, gold, plans, texts, sharing, invitations, health, operators,
    public, analyst,
)  # fmt: skip
ROUTERS = [part.router for part in _PARTS]

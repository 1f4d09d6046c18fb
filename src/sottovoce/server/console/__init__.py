"""The console: an operator's workplace in the browser, and the pages that show results to everybody."""

from sottovoce.server.console import (
    analyst,
    campaign,
    check,
    docs,
    drafts,
    files,
    gold,
    health,
    invitations,
    logos,
    operators,
    overview,
    plans,
    public,
    sharing,
    sign_in,
    texts,
)

# Drafts come before campaigns, so that "/campaigns/new" is not taken for a campaign.
_PARTS = (
    files, sign_in, overview, drafts, check, campaign, gold, plans, logos, texts, sharing, invitations, health,
    operators, docs, public, analyst,
)  # fmt: skip
ROUTERS = [part.router for part in _PARTS]

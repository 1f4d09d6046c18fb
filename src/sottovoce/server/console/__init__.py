"""The console: an operator's workplace in the browser, and the pages that show results to everybody."""

from sottovoce.server.console import (
    analyst,
    campaign,
    drafts,
    files,
    health,
    invitations,
    overview,
    public,
    sign_in,
)

# Drafts come before campaigns, of which "new" would be one.
ROUTERS = [part.router for part in (files, sign_in, overview, drafts, campaign, invitations, health, public, analyst)]

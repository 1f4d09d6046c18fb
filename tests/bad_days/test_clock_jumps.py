"""Clocks that are set forwards and back: what has happened stays so, and limits do not follow the wall clock."""

import pytest


def test_a_campaign_that_closed_stays_closed_when_the_clock_is_set_back(start_local):
    server = start_local()
    campaign = server.opened(deadline="2030-03-18T00:00:00Z")
    token, other = server.participants(campaign, 2)
    body = server.body(campaign, [1, 2, 3])
    assert server.report(campaign, token, body).status_code == 201
    server.clock.pass_time(days=2)
    server.tick()
    server.clock.pass_time(days=-400)
    server.tick()
    assert server.status(campaign)["state"] == "closed"
    answer = server.report(campaign, other, server.body(campaign, [1]))
    assert (answer.status_code, answer.json()["code"]) == (409, "campaign_not_open")
    assert server.report(campaign, token, body).status_code == 200  # a retry is still recognised as one
    assert len(server.stored(campaign)) == 1


def test_a_clock_that_is_briefly_ahead_does_not_close_a_campaign_for_good(start_local):
    server = start_local()
    campaign = server.opened(deadline="2030-03-18T00:00:00Z")
    (token,) = server.participants(campaign, 1)
    server.clock.pass_time(days=1)
    body = server.body(campaign, [1])
    assert server.report(campaign, token, body).json()["code"] == "deadline_passed"
    server.clock.pass_time(days=-1)
    assert server.report(campaign, token, body).status_code == 201


def test_readings_are_not_erased_early_by_a_clock_that_was_set_back(start_local):
    """Closed while the clock was a year ahead: kept until that time and the retention are over."""
    server = start_local(retention_days=30)
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.clock.pass_time(days=365)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    for days, kept in ((-365, 15), (366, 15), (31, 0)):
        server.clock.pass_time(days=days)
        server.tick()
        assert server.rows("readings") == kept
    assert server.results(campaign)["reports"] == 5


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_rate_limits_do_not_follow_the_wall_clock(start_local):
    server = start_local(token_rate=5)
    asked = [server.client.get("/api/operators/me", headers=server.operator).status_code for _ in range(6)]
    assert asked == [200] * 5 + [429]
    for days in (365, -1000):
        server.clock.pass_time(days=days)
        assert server.client.get("/api/operators/me", headers=server.operator).status_code == 429

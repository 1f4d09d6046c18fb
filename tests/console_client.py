"""The console without a browser."""

import re

from server_under_test import OPERATOR_TOKEN


class Console:
    """An operator at the console: a browser's cookies and forms over the test client."""

    def __init__(self, server, token=OPERATOR_TOKEN):
        self.client, self.cookies = server.client, {}
        self.client.cookies.clear()
        answer = self.post("/sign-in", token=token)
        assert answer.status_code == 303, answer.text
        self.cookies["session"] = re.search(r"session=([^;]+)", answer.headers["set-cookie"])[1]
        self.client.cookies.clear()

    def request(self, method, path, **options):
        cookie = "; ".join(f"{name}={secret}" for name, secret in self.cookies.items())
        headers = {"Cookie": cookie} | options.pop("headers", {})
        return self.client.request(method, path, headers=headers, follow_redirects=False, **options)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def form_token(self):
        return re.search(r'name="form_token" value="(\w+)"', self.get("/").text)[1]

    def post(self, path, **fields):
        token = {"form_token": self.form_token()} if self.cookies else {}
        return self.request("POST", path, data=token | fields)

    def create(self, **changes):
        """A draft by the wizard's first step; its id."""
        row = {"title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
        answer = self.post("/campaigns/new", **{"title": "How long?", "asked_by": "Facility", **row, **changes})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].split("/")[2]

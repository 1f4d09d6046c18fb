"""The console without a browser."""

import html
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

    def save_tasks(self, path, **fields):
        """The wizard's first step; a table is saved after it was shown."""
        answer = self.post(path, **fields)
        if answer.status_code == 200 and "not saved yet" in answer.text:
            answer = self.post(path, **fields | self.shown_table(answer.text))
        return answer

    @staticmethod
    def shown_table(page):
        """The fields of a form that shows a table as it was understood."""
        table = re.search(r'<textarea id="table"[^>]*>(.*?)</textarea>', page, re.DOTALL)[1]
        return {"table": html.unescape(table), "previewed": re.search(r'name="previewed" value="(\w+)"', page)[1]}

    def create(self, **changes):
        """A draft by the wizard's first step; its id."""
        row = {"title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
        answer = self.save_tasks("/campaigns/new", **{"title": "How long?", "asked_by": "Facility", **row, **changes})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].split("/")[2]

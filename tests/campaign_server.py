"""A small real server that follows the protocol and can be made to misbehave; it keeps everything that it was sent."""

import json
import ssl
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from sottovoce.protocol import InvitationLink, Problem, Report


class CampaignServer:
    """State of the server. ``troubles`` are used up one by one, each by the next request of its kind."""

    def __init__(self, *manifests):
        self.manifests = {manifest.campaign: manifest for manifest in manifests}
        self.invitations = {}  # token → campaign
        self.enrolments = {}  # invitation → (key, participant token)
        self.reports = {}  # report id → (content hash, participant token)
        self.bodies = []  # of every report that arrived, in order
        self.requests = []  # method and path of every request
        self.withdrawn = []
        self.troubles = []  # (method, path ending, trouble)
        self.offer = None  # bytes sent instead of the manifest
        self.cuts = b"{}"  # bytes of the published cuts
        self.lock = Lock()
        self.url = ""

    def invite(self, campaign="hallways", with_hash=True):
        token = sha256(f"invitation {len(self.invitations)}".encode()).hexdigest()
        self.invitations[token] = campaign
        found = self.manifests[campaign].sha256 if with_hash else None
        return InvitationLink(self.url, token, found)

    def trouble(self, ending, trouble, times=1, method="POST"):
        """``trouble``: a status, a (status, headers) pair, "lost" (done but not answered) or "cut" (not even read)."""
        self.troubles += [(method, ending, trouble)] * times

    def take_trouble(self, method, path):
        for place, (for_method, ending, trouble) in enumerate(self.troubles):
            if method == for_method and path.endswith(ending):
                del self.troubles[place]
                return trouble
        return None

    def answer(self, method, path, token, body):
        parts = path.strip("/").split("/")
        if (method, path) == ("POST", "/api/invitations/look-up"):
            invitation = json.loads(body)["invitation"]
            campaign = self._campaign_of(invitation)
            if invitation in self.enrolments:
                raise Problem("invitation_spent")
            return 200, {"campaign_id": campaign, "manifest_sha256": self.manifests[campaign].sha256}
        if (method, path) == ("POST", "/api/enrolments"):
            return self._enrol(**json.loads(body))
        if method == "GET" and parts[-1] == "manifest":
            return 200, self.offer or self.manifests[parts[2]].bytes()
        if method == "GET" and parts[-1] == "cuts":
            assert not token, "whoever fetches cuts must not say who they are"
            return 200, self.cuts
        if method == "POST" and parts[-1] == "reports":
            return self._report(self.manifests[parts[2]], token, body)
        if method == "DELETE" and parts[-1] == "participation":
            self._known(token)
            self.withdrawn.append(token)
            return 204, b""
        raise Problem("not_found")

    def _campaign_of(self, invitation):
        if invitation not in self.invitations:
            raise Problem("invitation_unknown")
        return self.invitations[invitation]

    def _enrol(self, invitation, enrolment_key):
        campaign = self._campaign_of(invitation)
        fresh = invitation not in self.enrolments
        key, token = self.enrolments.setdefault(
            invitation, (enrolment_key, sha256(f"participant {len(self.enrolments)}".encode()).hexdigest())
        )
        if key != enrolment_key:
            raise Problem("invitation_spent")
        return (201 if fresh else 200), {"campaign_id": campaign, "participant_token": token}

    def _known(self, token):
        if token not in {known for _, known in self.enrolments.values()}:
            raise Problem("unauthorised")

    def _report(self, manifest, token, body):
        self.bodies.append(body)
        self._known(token)
        report = Report.parse(body)
        report.check(manifest)
        if report.report_id in self.reports:
            if self.reports[report.report_id] != (report.content_hash, token):
                raise Problem("report_conflict")
            return 200, {}
        self.reports[report.report_id] = (report.content_hash, token)
        return 201, {}

    def released(self):
        """Every (task, value) that ever arrived, each report once."""
        readings = {}
        for body in self.bodies:
            report = Report.parse(body)
            for reading in report.readings:
                readings.setdefault(reading.task, set()).add((report.report_id, reading.value))
        return readings


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the client was killed

    def _handle(self):
        state = self.server.state
        with state.lock:
            state.requests.append(f"{self.command} {self.path}")
            trouble = state.take_trouble(self.command, self.path)
            if trouble == "cut":
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            headers = {}
            if trouble is None or trouble == "lost":
                try:
                    status, content = state.answer(self.command, self.path, token, body)
                except Problem as problem:
                    status, content = problem.status, problem.to_json()
            else:
                if self.path.endswith("/reports"):
                    state.bodies.append(body)
                status, headers = trouble if isinstance(trouble, tuple) else (trouble, {})
                headers = dict(headers)
                content = headers.pop("content", b"")
        if trouble == "lost":
            self.close_connection = True
            return
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response_only(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _handle


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def campaign_server(*manifests, port=0, certificate=None):
    """A server on a free port of this machine, in a thread; with TLS if there is a certificate (and key) file."""
    state = CampaignServer(*manifests)
    with _Listener(("127.0.0.1", port), Handler) as listener:
        listener.state = state
        state.url = f"{'https' if certificate else 'http'}://127.0.0.1:{listener.server_port}"
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            # The handshake is left to the thread of the connection: one that fails must not stop the listener.
            listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield state
        finally:
            listener.shutdown()
            thread.join()

"""Runs an OpenID Connect provider; prints its issuer, then the ID token of a person for each line `SUB CLAIMS` of its input."""

import json
import logging
import sys
import urllib.parse
from datetime import timedelta

import httpx
from oidc_provider_mock import run_server_in_thread

logging.disable(logging.WARNING)
CALLBACK = "http://localhost/callback"


def token(pages, person, claims, audience):
    client = httpx.Client(trust_env=False)
    base = pages["issuer"]
    client.put(f"{base}/users/{person}", json=claims).raise_for_status()
    question = {"client_id": audience, "redirect_uri": CALLBACK, "response_type": "code", "scope": "openid", "state": "1"}
    asked = client.post(pages["authorization_endpoint"], params=question, data={"sub": person})
    code = urllib.parse.parse_qs(urllib.parse.urlparse(asked.headers["location"]).query)["code"][0]
    answer = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    given = client.post(pages["token_endpoint"], data=answer, auth=(audience, "secret"))
    return given.raise_for_status().json()["id_token"]


def serve(seconds):
    with run_server_in_thread(access_token_max_age=timedelta(seconds=seconds)) as server:
        base = f"http://localhost:{server.server_port}"
        pages = httpx.get(f"{base}/.well-known/openid-configuration", trust_env=False).json()
        print(json.dumps(pages["issuer"]), flush=True)
        for line in sys.stdin:
            person, audience, claims = line.split(" ", 2)
            print(json.dumps(token(pages, person, json.loads(claims), audience)), flush=True)


serve(int(sys.argv[1]))

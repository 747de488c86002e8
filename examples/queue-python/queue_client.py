#!/usr/bin/env python3
"""Ask the policy dynamic-priority of a Hamadryad manager, signed with your key.

    HAMADRYAD_HTTP=manager.example:7071 HAMADRYAD_KEY=~/.hamadryad.key \
        ./queue_client.py 'setSpending=0.01&queue=me'

Without a query it asks for the price. The last line printed is the answer; the exit status is
1 when it is a refusal.
"""
import base64
import getpass
import hashlib
import hmac
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


def signed(query, user, key, milliseconds):
    """The query to send, and its Authorization header."""
    query += f"&user={urllib.parse.quote_plus(user)}&timestamp={milliseconds}"
    mac = hmac.new(key.encode(), query.encode(), hashlib.sha256).digest()
    return query, urllib.parse.quote(base64.b64encode(mac).decode())


def main():
    query, headers = sys.argv[1] if len(sys.argv) > 1 else "price", {}
    path = os.environ.get("HAMADRYAD_KEY")
    if path:
        with open(os.path.expanduser(path), encoding="utf-8") as f:
            key = f.read().strip()
        user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        query, headers["Authorization"] = signed(query, user, key, int(time.time() * 1000))
    manager = os.environ.get("HAMADRYAD_HTTP", "127.0.0.1:7071")
    request = urllib.request.Request(f"http://{manager}/scheduler?{query}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            print(answer.read().decode())
    except urllib.error.HTTPError as refusal:
        print(refusal.read().decode(), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()

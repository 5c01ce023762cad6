import base64
import hashlib
import hmac
import json
import time

TOLERANCE_SEC = 300


def verify(secret, headers, body, now=None):
    """The message, if it was signed with the secret. `body` is what arrived, before anything has parsed it."""
    message_id, sent_at = headers["webhook-id"], headers["webhook-timestamp"]
    if abs((now or time.time()) - int(sent_at)) > TOLERANCE_SEC:
        raise ValueError("the message is too old")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # For a day after a rotation there are two.
    for one in headers["webhook-signature"].split(" "):
        if hmac.compare_digest(one, f"v1,{expected}"):
            return {"id": message_id, **json.loads(body)}
    raise ValueError("the signature is wrong")

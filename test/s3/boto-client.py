"""Signs URLs with botocore, and uses URLs that Writ has signed. Reads one JSON object, writes one."""

import datetime
import json
import sys
import types

import botocore.auth
import botocore.config
import botocore.session
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session

asked = json.load(sys.stdin)


class FixedTime(datetime.datetime):
    """botocore asks for the time itself."""

    @classmethod
    def utcnow(cls):
        return cls.strptime(asked["time"], "%Y%m%dT%H%M%SZ")

    @classmethod
    def now(cls, tz=None):
        return cls.utcnow().replace(tzinfo=tz)


def presign(one):
    request = AWSRequest(method=one["method"], url=one["url"], headers=one["headers"], params=one["query"])
    credentials = Credentials(asked["access_key"], asked["secret_key"])
    signer = botocore.auth.S3SigV4QueryAuth(credentials, "s3", asked["region"], expires=one["expires"])
    signer.add_auth(request)
    return request.prepare().url


def send(one):
    body = one.get("body", "").encode() if one["method"] == "PUT" else None
    request = AWSRequest(method=one["method"], url=one["url"], headers=one["headers"], data=body)
    answer = URLLib3Session().send(request.prepare())
    return {"status": answer.status_code, "text": answer.text}


def client_url(one):
    """As people make them: by the client of a service, for one of its calls."""
    session = botocore.session.get_session()
    session.set_credentials(asked["access_key"], asked["secret_key"])
    config = botocore.config.Config(signature_version="s3v4", s3={"addressing_style": "path"})
    client = session.create_client("s3", region_name=asked["region"], endpoint_url=asked["endpoint"], config=config)
    params = {"Bucket": asked["bucket"], "Key": one["key"]}
    return client.generate_presigned_url(one["call"], Params=params, ExpiresIn=one["expires"])


if "time" in asked:
    botocore.auth.datetime = types.SimpleNamespace(datetime=FixedTime)

json.dump(
    {
        "presigned": [presign(one) for one in asked.get("presign", [])],
        "sent": [send(one) for one in asked.get("send", [])],
        "client": [client_url(one) for one in asked.get("client", [])],
    },
    sys.stdout,
)

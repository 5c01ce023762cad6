"""A client in another language: grpcio with messages that protobuf builds from what server reflection tells."""
import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

port, certs = sys.argv[1], sys.argv[2]


def read(name):
    with open(f"{certs}/{name}", "rb") as file:
        return file.read()


credentials = grpc.ssl_channel_credentials(
    root_certificates=read("ca.crt"),
    private_key=read("root/client.key"),
    certificate_chain=read("root/client.crt"),
)
channel = grpc.secure_channel(f"localhost:{port}", credentials)


def field(number, payload):
    return bytes([number << 3 | 2, len(payload)]) + payload


# Reflection by hand: ask for the file that holds the service, then let protobuf read it.
ask = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
answer = next(ask(iter([field(4, b"writ.v1.JobService")])))


def unwrap(message, wanted):
    """The payload of one length-delimited field; enough for what reflection answers."""
    at = 0
    while at < len(message):
        number, at = message[at] >> 3, at + 1
        length, shift = 0, 0
        while True:
            byte, at = message[at], at + 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if number == wanted:
            return message[at : at + length]
        at += length
    raise KeyError(wanted)


file = descriptor_pb2.FileDescriptorProto.FromString(unwrap(unwrap(answer, 4), 1))
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
factory = message_factory.MessageFactory(pool)


def kind(name):
    return factory.GetPrototype(pool.FindMessageTypeByName(f"writ.v1.{name}"))


def unary(method, request, response):
    call = channel.unary_unary(
        f"/writ.v1.JobService/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=kind(response).FromString,
    )
    return call(request, timeout=20)


stream = channel.unary_stream(
    "/writ.v1.JobService/StreamOutput",
    request_serializer=lambda message: message.SerializeToString(),
    response_deserializer=kind("StreamOutputResponse").FromString,
)

try:
    unary("StartJob", kind("StartJobRequest")(command=["ls"], limits={"cpu": "much"}), "StartJobResponse")
    refused = "nothing"
except grpc.RpcError as error:
    refused = [error.code().name, error.details()]

job_id = unary("StartJob", kind("StartJobRequest")(command=["echo", "hello"]), "StartJobResponse").job_id
print(json.dumps({"job_id": job_id}), flush=True)
sys.stdin.readline()  # the test plays the worker and says when the output is there
output = b"".join(message.data for message in stream(kind("StreamOutputRequest")(job_id=job_id)))
status = unary("GetStatus", kind("GetStatusRequest")(job_id=job_id), "JobStatus")

second = unary("StartJob", kind("StartJobRequest")(command=["sleep", "9"]), "StartJobResponse").job_id
stopped = unary("StopJob", kind("StopJobRequest")(job_id=second), "StopJobResponse").status
listed = unary("ListJobs", kind("ListJobsRequest")(), "ListJobsResponse").jobs
print(
    json.dumps(
        {
            "refused": refused,
            "output": output.decode(),
            "state": status.state,
            "exit_code": status.exit_code,
            "stopped": stopped.state,
            "listed": [job.job_id for job in listed],
            "second": second,
        }
    )
)

"""How calls fail in the demo ledger, in the words of the host's own error hook."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failed attempt; `status_code` None = no answer came."""

    status_code: int | None
    error_type: str
    message: str
    reason: str
    retryable: bool = True


RATE_LIMITED = Failure(
    429,
    "RateLimitError",
    "Error code: 429 - {'error': {'message': 'Rate limit exceeded: 20 requests per minute',"
    " 'type': 'rate_limit_error', 'code': 'rate_limit_exceeded'}}",
    "rate_limit",
)
BAD_KEY = Failure(
    401,
    "AuthenticationError",
    "Error code: 401 - {'error': {'message': 'Authentication fails: the api key is invalid',"
    " 'type': 'authentication_error', 'code': 'invalid_api_key'}}",
    "auth",
    retryable=False,
)
MODEL_GONE = Failure(
    404,
    "NotFoundError",
    "Error code: 404 - {'error': {'message': 'No endpoints found for"
    " mistralai/devstral-2512:free', 'code': 404}}",
    "model_not_found",
    retryable=False,
)
PASSING = (
    RATE_LIMITED,
    Failure(
        529,
        "OverloadedError",
        "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error',"
        " 'message': 'Overloaded'}}",
        "overloaded",
    ),
    Failure(
        500,
        "InternalServerError",
        "Error code: 500 - {'error': {'message': 'Internal server error', 'type': 'server_error'}}",
        "server_error",
    ),
    Failure(None, "APITimeoutError", "Request timed out.", "timeout"),
    Failure(
        None,
        "EmptyStreamError",
        "Provider returned an empty stream with no finish_reason.",
        "unknown",
    ),
)
"""What a retry gets over."""

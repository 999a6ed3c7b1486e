//! `wasi:http` behind [`http`](super::http): one request and its whole answer. Nothing is retried, and no redirect is followed.

use super::http::{HttpError, Request, Response, parts};
use std::time::Duration;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

/// Bytes of one write; what a stream takes at once at most.
const WRITE_BYTES: usize = 4096;

/// Bytes of one read.
const READ_BYTES: u64 = 64 << 10;

pub(crate) fn send_request(request: &Request) -> Result<Response, HttpError> {
    let outgoing = outgoing(request)?;
    let body = outgoing.body().map_err(|()| invalid("it has no body"))?;
    let options = request.timeout.map(options).transpose()?;
    let answer = outgoing_handler::handle(outgoing, options).map_err(|error| of_code(&error))?;
    let written = write(body, &request.body);
    answer.subscribe().block();
    let response = match answer.get() {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(error))) => return Err(of_code(&error)),
        _ => return Err(HttpError::Failed("there is no answer".to_owned())),
    };
    // Who answers before it has read everything has said what it wanted to say.
    drop(written);
    read(response)
}

fn invalid(what: &str) -> HttpError {
    HttpError::Invalid(what.to_owned())
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, HttpError> {
    let (scheme, authority, path) = parts(&request.url)?;
    let headers: Vec<(String, Vec<u8>)> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let fields = Fields::from_list(&headers).map_err(|error| HttpError::Invalid(format!("its headers: {error:?}")))?;
    if !request.body.is_empty() {
        let length = request.body.len().to_string().into_bytes();
        fields.set("content-length", &[length]).map_err(|error| HttpError::Invalid(format!("its length: {error:?}")))?;
    }
    let outgoing = OutgoingRequest::new(fields);
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let path = match path {
        "" => "/".to_owned(),
        query if query.starts_with('?') => format!("/{query}"),
        path => path.to_owned(),
    };
    outgoing.set_method(&method(&request.method)).map_err(|()| invalid("its method"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("its scheme"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| invalid("its host"))?;
    outgoing.set_path_with_query(Some(&path)).map_err(|()| invalid("its path"))?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn options(timeout: Duration) -> Result<RequestOptions, HttpError> {
    let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    let options = RequestOptions::new();
    let set = options
        .set_connect_timeout(Some(nanoseconds))
        .and_then(|()| options.set_first_byte_timeout(Some(nanoseconds)))
        .and_then(|()| options.set_between_bytes_timeout(Some(nanoseconds)));
    set.map_err(|()| invalid("its timeout"))?;
    Ok(options)
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), HttpError> {
    {
        let stream = body.write().map_err(|()| invalid("its body"))?;
        for piece in bytes.chunks(WRITE_BYTES) {
            stream.blocking_write_and_flush(piece).map_err(|error| of_stream(&error))?;
        }
    }
    OutgoingBody::finish(body, None).map_err(|error| of_code(&error))
}

fn read(response: IncomingResponse) -> Result<Response, HttpError> {
    let status = response.status();
    let text = |(name, value): (String, Vec<u8>)| Some((name, String::from_utf8(value).ok()?));
    let headers = response.headers().entries().into_iter().filter_map(text).collect();
    let incoming = response.consume().map_err(|()| HttpError::Failed("its body is gone".to_owned()))?;
    let stream = incoming.stream().map_err(|()| HttpError::Failed("its body is gone".to_owned()))?;
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(bytes) => body.extend(bytes),
            Err(StreamError::Closed) => return Ok(Response { status, headers, body }),
            Err(error) => return Err(of_stream(&error)),
        }
    }
}

fn of_stream(error: &StreamError) -> HttpError {
    match error {
        StreamError::Closed => HttpError::Failed("the connection has ended".to_owned()),
        StreamError::LastOperationFailed(cause) => {
            http_error_code(cause).map_or_else(|| HttpError::Failed(cause.to_debug_string()), |code| of_code(&code))
        }
    }
}

fn of_code(code: &ErrorCode) -> HttpError {
    match code {
        ErrorCode::HttpRequestDenied => HttpError::Refused("it is not granted".to_owned()),
        ErrorCode::DestinationIpProhibited => HttpError::Refused("its address is not granted".to_owned()),
        ErrorCode::HttpRequestBodySize(_)
        | ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpRequestHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSectionSize(_) => HttpError::TooLarge(format!("{code:?}")),
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout
        | ErrorCode::DnsTimeout => HttpError::Timeout,
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestMethodInvalid => invalid("its address or method"),
        other => HttpError::Failed(format!("{other:?}")),
    }
}

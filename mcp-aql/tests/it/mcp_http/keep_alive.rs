//! A client that sends hand-written requests over one connection.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// An open connection to the server.
pub(crate) struct KeepAlive {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl KeepAlive {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), address }
    }

    /// Sends a request, and returns the headers and the body of the answer.
    pub(crate) async fn post(&mut self, headers: &[(&str, &str)], body: &str) -> String {
        let mut request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let mut length = None;
        loop {
            let line = self.line().await;
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok();
            }
            answer.push_str(&line);
            answer.push_str("\r\n");
            if line.is_empty() {
                break;
            }
        }
        match length {
            Some(length) => self.append(&mut answer, length).await,
            // Events are sent in chunks.
            None => loop {
                let length = usize::from_str_radix(&self.line().await, 16).unwrap();
                self.append(&mut answer, length).await;
                self.line().await;
                if length == 0 {
                    break;
                }
            },
        }
        answer
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.unwrap();
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        line
    }

    async fn append(&mut self, answer: &mut String, length: usize) {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.unwrap();
        answer.push_str(std::str::from_utf8(&bytes).unwrap());
    }
}

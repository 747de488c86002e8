//! The handshake of go-plugin and the gRPC service: all but the deciding.

use crate::columns::{add_problems, table, Strings};
use crate::policy::{check, Oldest};
use crate::wire::{self, task_scheduler_server as service};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::sync::{Arc, Mutex, MutexGuard};
use std::{error::Error, io::Write, path::Path, pin::Pin, time::Duration};
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use tokio_rustls::rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{self, CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

const PROTOCOL_VERSION: u32 = 2; // of the service, in the handshake

/// Prints the line of the handshake, and serves until the process ends.
pub async fn serve() -> Result<(), Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?; // on P-256, for this life of the plug-in alone
    let manager = CertificateDer::from_pem_slice(std::env::var("PLUGIN_CLIENT_CERT")?.as_bytes())?;
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der())?;
    let mut tls = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(Pinned { manager, provider }))
        .with_single_cert(vec![own.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![b"h2".to_vec()]; // gRPC clients demand it
    let tls = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let path = Path::new(&std::env::var("PLUGIN_UNIX_SOCKET_DIR")?).join("policy");
    let listener = tokio::net::UnixListener::bind(&path)?;
    let der: String = own.cert.pem().lines().filter(|l| !l.starts_with('-')).collect();
    println!("1|{PROTOCOL_VERSION}|unix|{}|grpc|{}", path.display(), der.trim_end_matches('='));
    std::io::stdout().flush()?;
    let plugin =
        service::TaskSchedulerServer::new(Plugin::default()).max_decoding_message_size(256 << 20).max_encoding_message_size(256 << 20);
    loop {
        let (stream, tls, plugin) = (listener.accept().await?.0, tls.clone(), plugin.clone());
        tokio::spawn(async move {
            match tls.accept(stream).await {
                Err(e) => eprintln!("[WARN] the TLS of a connection failed: {e}"),
                Ok(stream) => {
                    let http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(plugin)).await;
                }
            }
        });
    }
}

/// Trusts the certificate of the manager that started the plug-in, and no other.
#[derive(Debug)]
struct Pinned {
    manager: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        cert: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        match *cert == self.manager {
            true => Ok(ClientCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        m: &[u8],
        c: &CertificateDer<'_>,
        s: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(m, c, s, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        m: &[u8],
        c: &CertificateDer<'_>,
        s: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(m, c, s, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The service. The policy in it is made anew by each start.
#[derive(Default)]
struct Plugin {
    policy: Arc<Mutex<Oldest>>,
}

impl Plugin {
    fn policy(&self) -> MutexGuard<'_, Oldest> {
        self.policy.lock().expect("a panic ends the process")
    }
}

fn problems(config: &wire::Config) -> wire::ProblemList {
    let (mut strings, mut list) = (Strings::default(), wire::Problems::default());
    add_problems(&mut list, config, &check(&config.text), &mut strings);
    wire::ProblemList { strings: strings.message(), problems: Some(list) }
}

#[tonic::async_trait]
impl service::TaskScheduler for Plugin {
    type RoundsStream = Pin<Box<dyn Stream<Item = Result<wire::Decisions, Status>> + Send>>;
    type WatchStream = tokio_stream::Pending<Result<wire::Note, Status>>;

    async fn check(&self, config: Request<wire::Config>) -> Result<Response<wire::ProblemList>, Status> {
        Ok(Response::new(problems(config.get_ref())))
    }

    /// The configuration is in the first message, and a page of the snapshot in each.
    async fn start(&self, parts: Request<Streaming<wire::StartPart>>) -> Result<Response<wire::StartReply>, Status> {
        let (mut parts, mut policy, mut reply) = (parts.into_inner(), Oldest::default(), wire::StartReply::default());
        while let Some(part) = parts.message().await? {
            let page = part.page.unwrap_or_default();
            policy.events(page.events, &table(&page.strings));
            if let Some(config) = part.config {
                reply.problems = Some(problems(&config)).filter(|p| p.problems.as_ref().is_some_and(|p| !p.line.is_empty()));
            }
        }
        *self.policy() = policy;
        if reply.problems.is_none() {
            let mut strings = Strings::default();
            let (name, version) = (strings.of("oldest"), strings.of("1"));
            reply.description = Some(wire::Description { name, version, strings: strings.message(), ..Default::default() });
        }
        Ok(Response::new(reply))
    }

    async fn assign_tasks(&self, round: Request<wire::Round>) -> Result<Response<wire::Decisions>, Status> {
        Ok(Response::new(self.policy().assign(round.into_inner())))
    }

    async fn rounds(&self, rounds: Request<Streaming<wire::Round>>) -> Result<Response<Self::RoundsStream>, Status> {
        let policy = self.policy.clone();
        let decide = move |round: Result<_, Status>| Ok(policy.lock().expect("a panic ends the process").assign(round?));
        Ok(Response::new(Box::pin(rounds.into_inner().map(decide))))
    }

    async fn explain(&self, asked: Request<wire::ExplainAsked>) -> Result<Response<wire::Explanation>, Status> {
        let (job, mut strings) = (asked.get_ref().job, Strings::default());
        let found = self.policy().explain(job);
        let (reason, detail) = found.ok_or_else(|| Status::not_found(format!("job {job} is not known")))?;
        let detail = strings.of(&detail);
        Ok(Response::new(wire::Explanation { reason: reason as i32, detail, strings: strings.message(), ..Default::default() }))
    }

    async fn status(&self, _: Request<wire::StatusAsked>) -> Result<Response<wire::Status>, Status> {
        Ok(Response::new(Default::default()))
    }

    /// There are no notes: the call lasts as long as the plug-in.
    async fn watch(&self, _: Request<wire::WatchAsked>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(tokio_stream::pending()))
    }

    async fn terminate(&self, _: Request<wire::TerminateAsked>) -> Result<Response<wire::Terminated>, Status> {
        tokio::spawn(async {
            tokio::time::sleep(Duration::from_millis(50)).await; // until the answer is out
            std::process::exit(0);
        });
        Ok(Response::new(Default::default()))
    }

    async fn page(&self, _: Request<wire::PageAsked>) -> Result<Response<wire::Page>, Status> {
        Err(Status::unimplemented("the policy has no pages"))
    }

    async fn prove(&self, _: Request<wire::Credentials>) -> Result<Response<wire::Proof>, Status> {
        Err(Status::unimplemented("the policy proves nothing"))
    }

    async fn durable(&self, _: Request<wire::DurableRound>) -> Result<Response<wire::DurableTaken>, Status> {
        Err(Status::unimplemented("the policy sends no notes"))
    }
}

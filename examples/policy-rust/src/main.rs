//! A scheduling policy: the oldest job goes first, near its input. It has no settings.
//!
//! cargo build && hamadryad policy check target/debug/hamadryad-policy-oldest

mod columns;
mod policy;
mod serve;
mod users;
#[allow(dead_code)]
#[rustfmt::skip]
mod wire; // generated, see build.rs

fn main() {
    if std::env::var("HAMADRYAD_POLICY_PLUGIN").as_deref() != Ok("scheduling-policy") {
        eprintln!("This is a scheduling policy of Hamadryad: a plug-in that the manager starts. Try it with: hamadryad policy check PATH");
        std::process::exit(2);
    }
    // One thread is enough: the manager makes one call at a time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Err(e) = runtime.map_err(Into::into).and_then(|r| r.block_on(serve::serve())) {
        eprintln!("[ERROR] the policy ends: {e}");
        std::process::exit(1);
    }
}

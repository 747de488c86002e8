//! Writes src/wire.rs anew from the project's .proto files: cargo build --features generate

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "generate")]
    generate().expect("src/wire.rs is generated");
}

#[cfg(feature = "generate")]
fn generate() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["sdk/scheduler/schedwire/rpc/policy.proto"], ["../.."])?;
    let out = std::path::Path::new("src");
    tonic_prost_build::configure().build_client(false).out_dir(out).compile_fds(files)?;
    std::fs::rename(out.join("hamadryad.scheduler.v1.rs"), out.join("wire.rs"))?;
    Ok(())
}

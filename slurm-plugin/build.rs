//! Bindings and version from the Slurm headers the plugin is built for.
//!
//! `SLURM_INCLUDE` names the folder that holds `slurm/spank.h`; the default is `/usr/include`. The plugin loads only
//! into the major.minor release of those headers.
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

const FUNCTIONS: &str = "spank_context|spank_get_item|spank_getenv|spank_option_register";

fn main() {
    println!("cargo::rerun-if-env-changed=SLURM_INCLUDE");
    println!("cargo::rerun-if-changed=build.rs");
    // rustc's full RELRO makes the loader bind every symbol at once, and one that a release of Slurm lacks would then
    // cost the whole plugin. `nodelete`: std leaves thread-locals with destructors behind, Slurm does call dlclose.
    for arg in ["-Wl,-z,relro", "-Wl,-z,lazy", "-Wl,-z,nodelete"] {
        println!("cargo::rustc-cdylib-link-arg={arg}");
    }
    let include = env::var("SLURM_INCLUDE").unwrap_or_else(|_| "/usr/include".to_owned());
    let header = Path::new(&include).join("slurm/spank.h");
    if !header.is_file() {
        fail(&format!(
            "{}: no such file; install Slurm's development headers (Debian: libslurm-dev, RPM: slurm-devel) or set \
             SLURM_INCLUDE to the folder that holds slurm/spank.h",
            header.display()
        ));
    }
    generate(&include, &header);
}

fn generate(include: &str, header: &Path) {
    let built = bindgen::Builder::default()
        .header(header.display().to_string())
        .clang_arg(format!("-I{include}"))
        .allowlist_function(FUNCTIONS)
        .allowlist_type("spank_option|spank_context|spank_item|spank_err")
        .allowlist_var("SLURM_VERSION_NUMBER")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(true)
        .generate();
    let bindings = match built {
        Ok(bindings) => bindings,
        Err(error) => fail(&format!(
            "{}: {error}; bindgen needs libclang (Debian: libclang-dev, RPM: clang-devel)",
            header.display()
        )),
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("spank.rs");
    if let Err(error) = bindings.write_to_file(&out) {
        fail(&format!("{}: {error}", out.display()));
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}

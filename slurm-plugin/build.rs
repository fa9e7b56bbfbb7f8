//! Bindings and version from the Slurm headers the plugin is built for.
//!
//! `SLURM_INCLUDE` names the folder that holds `slurm/spank.h`; the default is `/usr/include`. The plugin loads only
//! into the major.minor release of those headers.
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::process::exit;

/// All that the plugin takes from Slurm: there since long before 22.05, the oldest release supported.
const FUNCTIONS: &str = "spank_context|spank_get_item|spank_getenv|spank_option_register";

fn main() {
    println!("cargo::rerun-if-env-changed=SLURM_INCLUDE");
    println!("cargo::rerun-if-changed=build.rs");
    // Slurm opens plugins lazily, and rustc's full RELRO would overrule it. What the plugin itself calls is resolved at
    // load all the same, for rustc calls through the global offset table: a Slurm that lacked one of `FUNCTIONS` would
    // skip the plugin, not die in a hook. `nodelete`: std may leave thread-locals with destructors behind, and Slurm
    // does call dlclose.
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
    // A new release of Slurm is a new plugin.
    for name in ["spank.h", "slurm_version.h", "slurm_errno.h"] {
        println!("cargo::rerun-if-changed={include}/slurm/{name}");
    }
    generate(&include, &header);
}

fn generate(include: &str, header: &Path) {
    let builder = bindgen::Builder::default()
        .header(header.display().to_string())
        .clang_arg(format!("-I{include}"))
        .allowlist_function(FUNCTIONS)
        .allowlist_type("spank_option|spank_context|spank_item|spank_err")
        .allowlist_var("SLURM_VERSION_NUMBER")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .layout_tests(true);
    // bindgen panics when it finds no libclang.
    set_hook(Box::new(|_| ()));
    let failed = match catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(Ok(bindings)) => return write(&bindings),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "libclang is not to be found".to_owned(),
    };
    fail(&format!(
        "{}: {}; bindgen needs libclang and its headers (Debian: libclang-dev, RPM: clang-devel)",
        header.display(),
        failed.trim_end().replace('\n', " ")
    ));
}

fn write(bindings: &bindgen::Bindings) {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("spank.rs");
    if let Err(error) = bindings.write_to_file(&out) {
        fail(&format!("{}: {error}", out.display()));
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}

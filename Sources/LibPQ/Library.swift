import CLibpqLoader

/// The C library.
package enum Library {
    /// Loads it, which its first use would do as well.
    package static func load() {
        clibpqloader_load()
    }
}

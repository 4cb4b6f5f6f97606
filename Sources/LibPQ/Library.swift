import CLibpqLoader

/// The C library.
package enum Library {
    /// Loads it, which its first use would do as well, but end the process where it cannot be.
    ///
    /// Returns why it cannot be loaded; nil when it is there.
    package static func load() -> String? {
        unsafe clibpqloader_load().map { unsafe String(cString: $0) }
    }
}

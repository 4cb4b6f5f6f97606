import CLibpqLoader

/// The C library libpq.
package enum Library {
    /// Loads the library, which its first use would also do, but end the process on failure.
    ///
    /// Returns why it cannot be loaded; nil on success.
    package static func load() -> String? {
        unsafe clibpqloader_load().map { unsafe String(cString: $0) }
    }
}

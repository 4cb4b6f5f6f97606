#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The user that runs the database servers, which refuse to run as root.
package enum ServerUser {
    /// Returns a command line that runs the command as this user.
    package static func words(_ words: [String]) -> [String] {
        geteuid() == 0 ? ["runuser", "-u", "postgres", "--"] + words : words
    }
}

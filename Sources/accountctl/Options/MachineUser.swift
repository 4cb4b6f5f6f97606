#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The account on this machine that the program runs as, which no option and no environment variable changes.
enum MachineUser {
    /// The name of the account, or its number if it has none, as in many containers.
    static let name: String = {
        let number = getuid()
        guard let entry = getpwuid(number), let name = entry.pointee.pw_name else { return "uid \(number)" }
        return String(cString: name)
    }()

    /// The part of a login that the operators' log keeps: where a directory signs people in by e-mail address, an
    /// erasure would find that address in the log for good.
    static func withoutDomain(_ login: String) -> String {
        guard let at = login.firstIndex(of: "@"), at != login.startIndex else { return login }
        return String(login[..<at])
    }
}

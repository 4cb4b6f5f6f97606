#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The account on this machine that the program runs as, which no option and no variable changes.
enum MachineUser {
    /// Its name, or its number where it has none, as in many containers.
    static let name: String = {
        let number = getuid()
        guard let entry = getpwuid(number), let name = entry.pointee.pw_name else { return "uid \(number)" }
        return String(cString: name)
    }()

    /// What of a login the operators' log holds: directories have people sign in by their e-mail address, which an
    /// erasure would find there for good.
    static func withoutDomain(_ login: String) -> String {
        guard let at = login.firstIndex(of: "@"), at != login.startIndex else { return login }
        return String(login[..<at])
    }
}

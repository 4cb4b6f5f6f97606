import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the settings file: the one named, else the user's, else the machine's.
struct SettingsFileSearch {
    let environment: [String: String]

    /// The paths tried if none was named.
    var standardPaths: [String] {
        let user =
            environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? environment["HOME"].map { $0 + "/.config" }
        return [user.map { $0 + "/accountctl/accountctl.conf" }, "/etc/accountctl/accountctl.conf"].compactMap { $0 }
    }

    /// Reads the file; returns nil if none was named and none exists at the standard paths.
    func load(named flag: String?) throws -> (text: String, path: String)? {
        if flag?.isEmpty == true { throw CommandError(.usage, "--config is empty: name a settings file") }
        guard let file = path(named: flag) else { return nil }
        return (try read(file), file)
    }

    /// The path of the settings file; nil if none was named and none exists at the standard paths.
    func path(named flag: String?) -> String? {
        let variable = environment["ACCOUNTCTL_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        return flag ?? variable ?? standardPaths.first { FileManager.default.fileExists(atPath: $0) }
    }

    private func read(_ path: String) throws -> String {
        do throws(SecretFile.Failure) {
            // Reading through a descriptor works for pipes as well. Standard input is reserved for secrets, so `-` is
            // an ordinary file name here.
            return try SecretFile.readText(path == "-" ? "./-" : path, limit: Self.longest).reveal()
        } catch {
            throw CommandError(.usage, "cannot read the settings file \(path): \(error.reason)")
        }
    }

    /// The largest size of a settings file, in bytes.
    private static let longest = 1 << 20
}

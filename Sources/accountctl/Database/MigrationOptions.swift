import ArgumentParser
import Migrations

/// The options for what is installed, and how an existing table of profiles is adopted.
struct MigrationOptions: ParsableArguments {
    @Flag(
        name: .long,
        help: "Leave out profiles and avatars; only if they were not installed before."
    )
    var withoutProfiles = false

    @Flag(name: .long, help: "Add profiles and avatars to a database that was installed without them.")
    var withProfiles = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Who may read profiles and avatars: own or everyone. Default: unchanged; own for a new table.",
            valueName: "who"
        )
    )
    var visibility: Visibility?

    enum Visibility: String, CaseIterable, ExpressibleByArgument {
        case own, everyone

        var meaning: ProfilesVisibility {
            switch self {
            case .own: .own
            case .everyone: .everyone
            }
        }
    }

    mutating func validate() throws {
        if withProfiles, withoutProfiles {
            throw ValidationError("--with-profiles and --without-profiles cannot be combined")
        }
        if withoutProfiles, visibility != nil {
            throw ValidationError("--visibility and --without-profiles cannot be combined")
        }
    }

    /// The requested bundles; nil leaves the choice to the state of the database.
    func bundles(of set: MigrationSet) -> [String]? {
        if withProfiles { return set.bundles }
        return withoutProfiles ? set.bundles.filter { $0 != "profiles" } : nil
    }

    /// The session settings that the migrations read.
    var sessionSettings: [String: String] {
        visibility.map { [ProfilesVisibility.settingName: $0.rawValue] } ?? [:]
    }
}

/// Decides by folder who owns an unowned file that a profile names.
///
/// People write their profiles themselves and may name anything there: the app's stock pictures, a team's logo,
/// somebody else's picture. So an unowned file outside the folders named after user ids is an account's only if the
/// operator has declared that its folder holds accounts' files. Of nested folders the innermost counts.
package struct AvatarFolders: Sendable, Hashable {
    /// Who owns the unowned files in a folder.
    enum Fate: Sendable, Hashable {
        /// The account whose profile alone names the file.
        case accounts
        /// The app: its files stay, whoever names them.
        case apps
        /// No setting decides.
        case undecided
    }

    private let accounts: Set<String>
    private let apps: Set<String>

    /// - Parameters:
    ///   - accounts: folders of accounts' files, with or without surrounding slashes; `/` is the whole bucket.
    ///   - apps: folders of the app's own files; a folder in both lists is the app's.
    package init(accounts: [String] = [], apps: [String] = []) {
        self.accounts = Set(accounts.map(Self.path))
        self.apps = Set(apps.map(Self.path))
    }

    /// Who owns the object with a key, if it has no owner.
    func fate(of key: String) -> Fate {
        switch (Self.depth(of: key, in: accounts), Self.depth(of: key, in: apps)) {
        case (nil, nil): .undecided
        case (.some, nil): .accounts
        case (nil, .some): .apps
        case (let own?, let kept?): own > kept ? .accounts : .apps
        }
    }

    /// The length of the innermost of the folders that contain a key; nil if none does.
    private static func depth(of key: String, in folders: Set<String>) -> Int? {
        folders.filter { folder in
            // Compared by bytes: Swift considers some strings equal that are different keys.
            folder.isEmpty || key.utf8.starts(with: "\(folder)/".utf8)
        }
        .map(\.utf8.count)
        .max()
    }

    private static func path(_ folder: String) -> String { folder.split(separator: "/").joined(separator: "/") }
}

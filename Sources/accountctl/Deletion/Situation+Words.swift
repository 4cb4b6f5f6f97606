import AccountLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Situation {
    /// What ends the situation of a request, in words for an operator.
    ///
    /// If the request checks again by itself, the words say so, since removing the cause then lets the account be
    /// erased.
    func endedBy(_ command: CommandNaming, of request: UUID) -> String {
        let retry = command("deletion retry", on: request)
        let thenGoesOn = "; it then continues within five minutes, or at once with \(retry)"
        // After the lock-out, a failing step is retried at growing intervals of up to an hour. The few tries that a
        // deletion makes at Apple come before these grow beyond five minutes.
        let thenRetries = "; it then continues within the hour, or at once with \(retry)"
        let orWithoutApple =
            "\(thenGoesOn); or "
            + command("deletion proceed --without-apple", on: request)
            + "; or time: after apple.give_up it continues by itself (once the account is locked out, after some "
            + "tries); "
            + "the revocation is then tried again separately"
        // Workers read their settings when they start, so a correction seems to have no effect until they are
        // restarted.
        let restarted = ", once workers are restarted with it"
        // The file is not named, since users choose the names of their files.
        let ofFile =
            subject.map {
                "; if doctor finds nothing, Storage's log shows at which of the account's files in \($0) it fails"
            }
            ?? ""
        let isOfFiles = findings?.contains { $0.column.hasPrefix("storage.") } ?? false
        let byHand = isOfFiles ? " (files through Storage: SQL would leave their bytes)" : ""
        return switch code {
        // Here every deletion is paused; ``DeletionSummary`` handles the pause of a single request.
        case .paused: command("deletion resume --all")
        case .legalHold: "releasing the hold; the request then continues by itself"
        case .ceiling: "time: requests continue as the hour passes; or a higher deletion.hourly_ceiling" + restarted
        case .blockingRows:
            "deleting the named rows, or changing the constraint: a key to ON DELETE CASCADE" + thenGoesOn
        case .refusingTrigger: "changing the trigger, or what it objects to" + thenGoesOn
        case .unpublishable: "giving the named table a primary key or another replica identity" + thenGoesOn
        case .idleKey: "enabling the named key again, as \(command("doctor")) says" + thenGoesOn
        case .missingRight: "granting the right to the worker's role, as \(command("doctor")) says" + thenGoesOn
        case .hiddenRows: "giving the worker's role BYPASSRLS, as \(command("doctor")) says" + thenGoesOn
        case .tooLarge: "a higher deletion.max_rows\(restarted), or deleting the rows beforehand" + thenGoesOn
        case .undecidedBucket: "naming the bucket in deletion.buckets or deletion.kept_buckets" + restarted + thenGoesOn
        case .undecidedFile:
            "naming the folder of the ownerless file that avatar_url names in deletion.avatar_folders (accounts' files) or "
                + "deletion.kept_avatar_folders (the app's)\(restarted), or another avatar_url" + thenGoesOn
        case .storageUnusable:
            switch fault {
            case .key:
                "a storage.service_key_file with a key that Storage accepts\(restarted), see \(command("doctor"))"
                    + thenRetries
            case .settings: "correcting the settings of [storage]\(restarted), see \(command("doctor"))" + thenRetries
            case nil: "Storage answering again, see \(command("doctor"))" + thenRetries + ofFile
            }
        case .sealingKeyMissing:
            "adding the named sealing key to its file again; if it is lost for good, "
                + command("apple vault forget-key \(subject ?? "KEY")")
        case .appleMisconfigured:
            "correcting the Apple configuration\(restarted), see \(command("doctor"))" + orWithoutApple
        case .appleUnreachable: "Apple answering again" + orWithoutApple
        case .codeUnderWay:
            "Apple's answer, within seconds, or the end of the authorization code, five minutes after it arrived"
        case .otherAccount: "\(command("deletion cancel", on: request)): the account that was meant no longer exists"
        case .residue:
            "removing what the named columns hold\(byHand), of a materialized view by refreshing it "
                + "(\(command("deletion show --reveal", on: request)) shows what to look for); the search is repeated "
                + "within the hour, or at once with \(retry); or \(command("deletion accept COLUMN --reason WHY"))"
        case .failing: "the next attempt; see the error with \(command("deletion show", on: request))"
        }
    }
}

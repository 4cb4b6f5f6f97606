import Logging

/// Says of a metadata value that it names a person, for keys that the mask does not know.
package enum Sensitivity: Int64, Logger.MetadataValueAttributes.Attribute {
    case personal = 1
}

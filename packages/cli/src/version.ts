/** The version of this build. */

declare const UNTURN_VERSION: string

export const version = typeof UNTURN_VERSION === 'string' ? UNTURN_VERSION : '0.0.0-source'

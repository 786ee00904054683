import { useAllKeys } from '../lib/keys.ts'
import { Dialog } from './dialog.tsx'

export function KeyList({ onClose }: { readonly onClose: () => void }) {
  const parts = useAllKeys()
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div className="key-list">
        {parts.map(({ part, keys }) => (
          <section key={part}>
            <h3>{part}</h3>
            <dl>
              {keys.map(({ key, does }) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

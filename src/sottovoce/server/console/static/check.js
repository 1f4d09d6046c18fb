/** Tabs that switch between the parts of the preview. Without this script, the preview shows the first part. */
const frame = document.querySelector(".phone iframe");
const tabs = document.querySelector(".phone .tabs");
tabs.hidden = false;
for (const tab of tabs.children) {
  tab.addEventListener("click", (event) => {
    event.preventDefault();
    frame.contentWindow.location.hash = tab.dataset.view;
    for (const other of tabs.children) other.ariaCurrent = other === tab ? "true" : null;
  });
}
